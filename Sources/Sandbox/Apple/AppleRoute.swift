/// The endpoint of a request to Apple.
enum AppleRoute: Equatable {
    /// The keys for verifying identity tokens and notifications.
    case keys
    case form(Form)

    /// A request with form fields.
    enum Form: Equatable {
        case token, revoke, migration
    }

    /// The name of the route for faults and the journal.
    var endpoint: Endpoint {
        switch self {
        case .keys: .appleKeys
        case .form(.token): .appleToken
        case .form(.revoke): .appleRevoke
        case .form(.migration): .appleMigration
        }
    }
}
