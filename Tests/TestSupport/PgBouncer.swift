import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A PgBouncer in front of a test cluster.
package struct PgBouncer: Sendable {
    /// How long a client keeps a server connection.
    package enum PoolMode: String, Sendable {
        case session
        case transaction
    }

    /// The port on 127.0.0.1.
    package let port: Int

    private let pid: pid_t

    /// Returns connection keywords that lead through the pooler, as the limited role.
    package func conninfo(database: String) -> String {
        "host=127.0.0.1 port=\(port) user=postgres dbname=\(database)"
    }

    /// Suspends the pooler for the duration of a closure; data that arrives meanwhile is forwarded together afterwards.
    package func paused(_ body: () async throws -> Void) async throws {
        kill(pid, SIGSTOP)
        defer { kill(pid, SIGCONT) }
        try await body()
    }

    /// Runs a pooler for the duration of a closure; `settings` are lines of its configuration, and `proxy` leads to the
    /// cluster.
    package static func with<Result: Sendable>(
        _ mode: PoolMode,
        poolSize: Int = 4,
        settings: [String] = [],
        to cluster: TestCluster,
        through proxy: TCPProxy? = nil,
        _ body: @Sendable (PgBouncer) async throws -> Result
    ) async throws -> Result {
        let own = try TemporaryFolder("pgbouncer")
        defer { own.remove() }
        let folder = own.path
        let port = try Socket.freePort()
        var server = "host=\(cluster.socket) port=\(cluster.port)"
        if let proxy { server = "host=127.0.0.1 port=\(proxy.port) password='\(try cluster.password())'" }
        try """
        [databases]
        * = \(server) user=postgres
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = \(port)
        unix_socket_dir =
        auth_type = any
        pool_mode = \(mode.rawValue)
        default_pool_size = \(poolSize)
        pidfile = \(folder)/pid
        logfile = \(folder)/log
        \(settings.joined(separator: "\n"))
        """.write(toFile: folder + "/pgbouncer.ini", atomically: true, encoding: .utf8)
        try await own.giveToServerUser()
        try await TestCluster.command(ServerUser.words(["pgbouncer", "-q", "-d", folder + "/pgbouncer.ini"]))
        let pid = try await started(folder, port)
        defer { kill(pid, SIGKILL) }
        return try await body(PgBouncer(port: port, pid: pid))
    }

    /// Waits for the daemon's process id: the command returns before its daemon has written that id and listens.
    private static func started(_ folder: String, _ port: Int) async throws -> pid_t {
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        while ContinuousClock.now < deadline {
            if let text = try? String(contentsOfFile: folder + "/pid", encoding: .utf8),
                let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)),
                let probe = try? Socket.connect(port: port)
            {
                close(probe)
                return pid
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "no log"
        throw TestSupportError("pgbouncer did not start: \(log)")
    }
}
