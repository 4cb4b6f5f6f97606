/// What a request to Apple asks for.
enum AppleRoute: Equatable {
    /// The keys that identity tokens and notifications are verified with.
    case keys
    case form(Form)

    /// A request whose fields come as a form.
    enum Form: Equatable {
        case token, revoke, migration
    }

    /// The name under which faults and the journal know the route.
    var endpoint: Endpoint {
        switch self {
        case .keys: .appleKeys
        case .form(.token): .appleToken
        case .form(.revoke): .appleRevoke
        case .form(.migration): .appleMigration
        }
    }
}
