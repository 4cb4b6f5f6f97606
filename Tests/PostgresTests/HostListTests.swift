import Synchronization
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(5))) struct HostListTests {
    /// A hung machine accepts the connection and says nothing; libpq would wait for it until the timeout is over.
    @Test func aSilentFirstHostLeavesTimeForTheNext() async throws {
        try await TestDatabase.with(.empty) { database in
            try await DeafServer.with { deaf in
                var configuration = ConnectionConfiguration(
                    conninfo: """
                        host=127.0.0.1,127.0.0.1,127.0.0.1 port=\(deaf),\(database.cluster.port),\(deaf) user=postgres \
                        dbname=\(database.name) target_session_attrs=read-write passfile=\(database.cluster.passwordFile)
                        """
                )
                configuration.connectTimeout = .seconds(15)
                let name = try await Connection.with(configuration, logger: .silent) { connection in
                    try connection.one("select current_database()::text", as: String.self)
                }
                #expect(name == database.name)
            }
        }
    }

    /// A host name may have an IPv6 address that leads nowhere; libpq would wait for that address until the timeout is
    /// over.
    @Test func aSilentFirstAddressLeavesTimeForTheNext() async throws {
        try await TestDatabase.with(.empty) { database in
            try await DeafServer.with { deaf in
                try await TCPProxy.with(to: database.cluster.port, onHost: 2, port: deaf) { proxy in
                    var configuration = ConnectionConfiguration(
                        conninfo: """
                            host=127.0.0.1 port=\(deaf) user=postgres dbname=\(database.name) \
                            passfile=\(database.cluster.passwordFile)
                            """
                    )
                    configuration.connectTimeout = .seconds(15)
                    configuration.resolve = { host in [host, "127.0.0.9", "127.0.0.2"] }
                    let name = try await Connection.with(configuration, logger: .silent) { connection in
                        try connection.one("select current_database()::text", as: String.self)
                    }
                    #expect(name == database.name)
                    #expect(proxy.connections >= 1)
                }
            }
        }
    }

    /// A host name is resolved only if the first attempt gets no answer, and a silent host with a single address gets
    /// all of the time.
    @Test func addressesAreAskedForWhenOneIsSilent() async throws {
        let asked = Mutex<[String]>([])
        let resolve: @Sendable (String) -> [String] = { host in
            asked.withLock { $0.append(host) }
            return [host]
        }
        try await TestDatabase.with(.empty) { database in
            var configuration = ConnectionConfiguration(conninfo: database.conninfo(port: database.cluster.port))
            configuration.resolve = resolve
            try await Connection.with(configuration, logger: .silent) { _ in }
            #expect(asked.withLock(\.self) == [])
        }
        try await DeafServer.with { deaf in
            var configuration = ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(deaf) user=nobody dbname=none")
            configuration.connectTimeout = .milliseconds(200)
            configuration.resolve = resolve
            let error = try await PostgresError.expected {
                try await Connection.with(configuration, logger: .silent) { _ in }
            }
            #expect(error.reason?.contains("no connection to 127.0.0.1 within") == true, "\(error)")
            #expect(asked.withLock(\.self) == ["127.0.0.1"])
        }
        #expect(HostAddresses.of("127.0.0.1") == ["127.0.0.1"])
        #expect(HostAddresses.of("no-such-host.invalid") == [])
    }

    /// A `connect_timeout` applies to each host; without it all hosts share our own limit.
    @Test func aSilentHostIsNamedAfterItsTime() async throws {
        try await DeafServer.with { deaf in
            for (keyword, shortest) in [("", Duration.milliseconds(90)), ("connect_timeout=1", .milliseconds(950))] {
                var configuration = ConnectionConfiguration(
                    conninfo: "host=127.0.0.1,127.0.0.2 port=\(deaf) user=nobody dbname=none \(keyword)"
                )
                configuration.connectTimeout = .milliseconds(200)
                let started = ContinuousClock.now
                let error = try await PostgresError.expected {
                    try await Connection.with(configuration, logger: .silent) { _ in }
                }
                #expect(started.duration(to: .now) > shortest)
                #expect(error.code == .connectionFailed && error.isTransient)
                #expect(error.reason?.contains("no connection to 127.0.0.1 within") == true)
                #expect(error.reason?.contains("127.0.0.2") == true)
            }
        }
    }

    /// A refusal by a server that answers is final, as with libpq.
    @Test func aRefusalIsNotTakenToTheNextHost() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let error = try await PostgresError.expected {
                    let conninfo = """
                        host=127.0.0.1,127.0.0.1 port=\(database.cluster.port),\(proxy.port) user=postgres \
                        dbname=no_such_database passfile=\(database.cluster.passwordFile)
                        """
                    try await Connection.with(ConnectionConfiguration(conninfo: conninfo), logger: .silent) { _ in }
                }
                #expect(error.sqlState == .invalidCatalogName)
                #expect(proxy.connections == 0)
            }
        }
    }

    @Test(arguments: [
        ([:], [""]), (["host": "a", "port": "5432"], [""]), (["host": "a,"], [""]),
        (["host": "a,b", "port": "5433"], ["host=a", "host=b"]),
        (["host": "a,b", "port": "5433,"], ["host=a port=5433", "host=b port=5432"]),
        (["host": "a,b", "hostaddr": "1,2"], ["host=a hostaddr=1", "host=b hostaddr=2"]),
        (["hostaddr": "1,2"], ["hostaddr=1", "hostaddr=2"]), (["host": "a,b", "hostaddr": "1,"], [""]),
        (
            ["host": "a,b", "target_session_attrs": "prefer-standby"],
            [
                "host=a target_session_attrs=standby", "host=b target_session_attrs=standby",
                "host=a target_session_attrs=any", "host=b target_session_attrs=any",
            ]
        ),
    ])
    func hostsAreTriedOneByOne(inForce: [String: String], expected: [String]) {
        let attempts = HostAttempts(inForce).list.map { attempt in
            attempt.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ")
        }
        #expect(attempts == expected)
    }
}
