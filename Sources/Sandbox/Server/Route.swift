/// What a request asks for, told by its method and path.
enum Route: Equatable {
    case appleToken, appleRevoke, appleKeys, appleMigration
    /// A known path with a method that Apple does not take there.
    case wrongMethod
    case storage(StorageRoute)
    /// The settings of a project's auth server, by the project's reference.
    case projectAuth(String)
    case control([String])
    case unknown

    init(method: String, path: String) {
        switch path {
        case "/auth/token": self = method == "POST" ? .appleToken : .wrongMethod
        case "/auth/revoke": self = method == "POST" ? .appleRevoke : .wrongMethod
        case "/auth/usermigrationinfo": self = method == "POST" ? .appleMigration : .wrongMethod
        case "/auth/keys": self = method == "GET" ? .appleKeys : .wrongMethod
        case _ where path.hasPrefix("/storage/v1/"):
            self = .storage(StorageRoute(method: method, path: path.dropFirst("/storage/v1/".count)))
        default:
            let words = path.split(separator: "/").map(String.init)
            if words.count == 5, words[..<2] == ["v1", "projects"], words[3...] == ["config", "auth"] {
                self = .projectAuth(words[2])
                return
            }
            self = words.first == "control" ? .control(Array(words.dropFirst())) : .unknown
        }
    }

    /// The name under which faults and the journal know the route.
    var endpoint: Endpoint? {
        switch self {
        case .appleToken: .appleToken
        case .appleRevoke: .appleRevoke
        case .appleKeys: .appleKeys
        case .appleMigration: .appleMigration
        case .storage(let route): route.endpoint
        case .projectAuth: .projectAuth
        case .wrongMethod, .control, .unknown: nil
        }
    }
}
