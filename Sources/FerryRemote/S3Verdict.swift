/// The next step after an answer: a pure decision.
enum S3Verdict: Equatable {
    /// The answer is final: go by the answer.
    case answer
    /// The same request may succeed in a moment.
    case again
    /// The storage does not know conditions.
    case withoutCondition
    /// Something of the request is to be put right, once: `clock`, `credentials`, `region`.
    case correction(String, region: String? = nil)

    init(_ response: HTTPResponse, isConditional: Bool) {
        switch response.status {
        case 408, 429, 500, 502, 503, 504, 409: self = .again
        case 501 where isConditional: self = .withoutCondition
        case 301, 307, 400, 403:
            let failure = S3Answer.failure(response.body)
            let region = failure.region ?? response.headers["x-amz-bucket-region"].map(S3Answer.word)
            switch failure.code {
            case "RequestTimeout", "InternalError": self = .again
            case "RequestTimeTooSkewed": self = .correction("clock")
            case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId", "InvalidClientTokenId",
                "UnrecognizedClientException", "SignatureDoesNotMatch":
                // A person may have replaced a key since the credentials were asked for.
                self = .correction("credentials")
            default:
                if let region, !region.isEmpty, failure.code == "AuthorizationHeaderMalformed" || response.status < 400
                {
                    self = .correction("region", region: region)
                } else {
                    self = .answer
                }
            }
        default: self = .answer
        }
    }
}
