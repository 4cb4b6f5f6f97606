/// A server session that blocks something, with a description for people.
package struct ServerSession: Sendable, Hashable, CustomStringConvertible {
    /// The process id of its server process.
    package let pid: Int
    private let role: String?
    private let application: String?
    private let database: String?

    /// Creates a session; `database` is given only if it is not the current one.
    package init(pid: Int, role: String?, application: String?, database: String? = nil) {
        self.pid = pid
        self.role = role
        self.application = application
        self.database = database
    }

    /// The statement that ends it.
    package var ending: String { "select pg_terminate_backend(\(pid))" }

    package var description: String {
        var text = "server process \(pid)"
        if let role { text += " of role \(role)" }
        if let application, !application.isEmpty { text += " (\(application))" }
        if let database { text += " in the database \(database)" }
        return text
    }
}
