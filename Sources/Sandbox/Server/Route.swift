/// The purpose of a request, determined from its method and path.
enum Route: Equatable {
    case apple(AppleRoute)
    /// A known path with a method that Apple does not accept there.
    case wrongMethod
    case storage(StorageRoute)
    /// The settings of a project's auth server, by the project's reference.
    case projectAuth(String)
    case control([String])
    case unknown

    init(method: String, path: String) {
        switch path {
        case "/auth/token": self = method == "POST" ? .apple(.form(.token)) : .wrongMethod
        case "/auth/revoke": self = method == "POST" ? .apple(.form(.revoke)) : .wrongMethod
        case "/auth/usermigrationinfo": self = method == "POST" ? .apple(.form(.migration)) : .wrongMethod
        case "/auth/keys": self = method == "GET" ? .apple(.keys) : .wrongMethod
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

    /// The name of the route for faults and the journal.
    var endpoint: Endpoint? {
        switch self {
        case .apple(let route): route.endpoint
        case .storage(let route): route.endpoint
        case .projectAuth: .projectAuth
        case .wrongMethod, .control, .unknown: nil
        }
    }
}
