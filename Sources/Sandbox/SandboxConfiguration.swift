/// What a sandbox starts with.
package struct SandboxConfiguration: Sendable {
    /// A client registered with the pretended Apple from the start.
    package struct Client: Sendable {
        let id: String
        let kind: AppleClient.Kind
        /// The primary App ID it is grouped under; itself when nil.
        let group: String?

        package init(id: String, kind: AppleClient.Kind = .bundle, group: String? = nil) {
            self.id = id
            self.kind = kind
            self.group = group
        }
    }

    /// The address to listen on.
    package var host = "127.0.0.1"

    /// The port to listen on; 0 takes a free one.
    package var port = 0

    /// The clients of the first team: an app, and the web site grouped with it.
    package var clients = [
        Client(id: "com.example.app"),
        Client(id: "com.example.web", kind: .services, group: "com.example.app"),
    ]

    /// Where Apple posts its notifications; nil posts none but those asked for.
    package var notificationURL: String?

    /// Where Storage keeps its objects; without it Storage answers that its database is away.
    package var storage: Storage?

    /// The two halves of Storage.
    package struct Storage: Sendable {
        /// The database with the `storage` schema, as `supabase_storage_admin` or a superuser.
        let conninfo: String
        /// The folder of the files; made when missing, never removed.
        let folder: String
        /// How many connections Storage may use.
        var maximumConnections = 4
        /// How many keys one call may delete; nil enforces none, as a server without its hard limits.
        package var deleteLimit: Int?

        package init(conninfo: String, folder: String) {
            self.conninfo = conninfo
            self.folder = folder
        }
    }

    package init() {}
}
