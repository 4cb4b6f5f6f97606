/// The configuration of a sandbox.
package struct SandboxConfiguration: Sendable {
    /// A client registered with the simulated Apple from the start.
    package struct Client: Sendable {
        let id: String
        let kind: AppleClient.Kind
        /// The primary App ID that the client is grouped under; itself if nil.
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

    /// The URL for Apple's notifications; nil disables all but those that are requested explicitly.
    package var notificationURL: String?

    /// Where Storage keeps its objects; without it, Storage answers that its database is unavailable.
    package var storage: Storage?

    /// The database and the files of Storage.
    package struct Storage: Sendable {
        /// The connection string of the database with the `storage` schema, as `supabase_storage_admin` or a superuser.
        let conninfo: String
        /// The folder of the files; created if missing, never removed.
        let folder: String
        /// The maximum number of connections that Storage may use.
        var maximumConnections = 4
        /// The maximum number of keys in one delete call; nil enforces none, like a server without its hard limits.
        package var deleteLimit: Int?

        package init(conninfo: String, folder: String) {
            self.conninfo = conninfo
            self.folder = folder
        }
    }

    package init() {}
}
