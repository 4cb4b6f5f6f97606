@testable import AccountLifecycle

extension SearchTarget {
    /// A target with a person's address and a telephone number.
    init(_ person: Person) {
        self.init(
            request: person.id,
            userID: person.id,
            identifiers: [
                Identifier(email: person.email), Identifier(phone: "49301234\(person.email.utf8.count)"),
            ]
            .compactMap(\.self)
        )
    }
}
