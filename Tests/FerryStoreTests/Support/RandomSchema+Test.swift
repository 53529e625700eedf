import FerryTestSupport

extension RandomSchema {
    static func schema(seed: UInt64) -> TestSchema {
        let made = statements(seed: seed)
        return TestSchema(name: "generated \(seed)", sql: made.sql, declared: made.declared)
    }
}
