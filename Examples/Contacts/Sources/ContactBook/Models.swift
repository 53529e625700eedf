import Foundation
import GRDB

/// A contact, as GRDB reads and writes it. Its picture, numbers and addresses are rows of their own.
public struct Contact: Codable, Hashable, Identifiable, FetchableRecord, MutablePersistableRecord, Sendable {
    public var id: Int64?
    public private(set) var firstName: String
    public private(set) var lastName: String
    public var city: String
    public var birthYear: Int
    public var groupID: Int64?
    /// Last and first name without case and accents, for order and search.
    public private(set) var sortName: String

    public init(firstName: String, lastName: String, city: String, birthYear: Int, groupID: Int64?) {
        self.firstName = firstName
        self.lastName = lastName
        self.city = city
        self.birthYear = birthYear
        self.groupID = groupID
        sortName = canonicalName(firstName: firstName, lastName: lastName)
    }

    public mutating func rename(firstName: String? = nil, lastName: String? = nil) {
        self.firstName = firstName ?? self.firstName
        self.lastName = lastName ?? self.lastName
        sortName = canonicalName(firstName: self.firstName, lastName: self.lastName)
    }

    public static let phones = hasMany(Phone.self)
    public static let emails = hasMany(Email.self)

    public mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// A picture, under its contact's key.
public struct Picture: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    public var contactID: Int64
    public var data: Data
}

public struct Phone: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    public var id: Int64?
    public var contactID: Int64
    public var number: String
}

public struct Email: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    public var id: Int64?
    public var contactID: Int64
    public var address: String
}

public struct ContactGroup: Codable, Hashable, FetchableRecord, MutablePersistableRecord, Sendable {
    public var id: Int64?
    public var name: String

    public mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// A contact with the rows that belong to it.
public struct ContactCard: Decodable, Hashable, FetchableRecord, Sendable {
    public var contact: Contact
    public var phones: [Phone]
    public var emails: [Email]

    public init(contact: Contact, phones: [Phone], emails: [Email]) {
        self.contact = contact
        self.phones = phones
        self.emails = emails
    }
}

/// What a device did with a contact; it stays there.
public struct Call: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    public var id: Int64?
    public var contactID: Int64
    public var seconds: Int
}
