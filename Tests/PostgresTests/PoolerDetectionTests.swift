import TestSupport
import Testing

@testable import Postgres

/// How the kind of a pooler is found out.
@Suite(.timeLimit(.minutes(5))) struct PoolerDetectionTests {
    @Test func aPoolerWithOneServerProcessIsFoundOutToo() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, poolSize: 1, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                let (route, value) = try await Connection.with(configuration, logger: .silent) { connection in
                    (connection.route, try connection.one("select 42", as: Int.self))
                }
                #expect(route == .transactionPooler)
                #expect(value == 42)
            }
        }
    }

    /// Holding one server process while asking for another, workers that start at once would wait for each other; without
    /// a deadline, as when they look for pending migrations, until the pooler's own.
    @Test func detectionNeedsOneServerProcessAtATime() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["query_wait_timeout = 10"]
            try await PgBouncer.with(.transaction, poolSize: 2, settings: settings, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.statementDeadline = nil
                let route = try await bouncer.whileOccupied(in: database) { [configuration] _ in
                    try await Connection.with(configuration, logger: .silent) { $0.route }
                }
                #expect(route == .transactionPooler)
            }
        }
    }

    /// With two server processes in turn, a client that alternates with one other would always get the same.
    @Test func aPoolerThatTakesTurnsIsFoundOutToo() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["server_round_robin = 1"]
            try await PgBouncer.with(.transaction, poolSize: 2, settings: settings, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                var unasked = configuration
                unasked.pooler = .transaction
                // The second process is started while the first one is held.
                try await bouncer.whileOccupied(in: database) { [unasked] _ in
                    try await Connection.with(unasked, logger: .silent) { _ = try $0.execute("select 1") }
                }
                let route = try await Connection.with(configuration, logger: .silent) { $0.route }
                #expect(route == .transactionPooler)
            }
        }
    }

    /// Where a balancer shares clients among poolers, neither of two connections ever gets the other's server process.
    ///
    /// A transaction pooler taken for one of sessions would keep our settings for all of its clients.
    @Test(arguments: [(PgBouncer.PoolMode.transaction, Route.transactionPooler), (.session, .sessionPooler)])
    func severalPoolersBehindOneAddressAreFoundOutToo(mode: PgBouncer.PoolMode, expected: Route) async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(mode, to: database.cluster) { first in
                try await PgBouncer.with(mode, to: database.cluster) { second in
                    try await TCPProxy.with(to: first.port, second.port) { proxy in
                        let configuration = ConnectionConfiguration(
                            conninfo: "host=127.0.0.1 port=\(proxy.port) user=postgres dbname=\(database.name)"
                        )
                        let route = try await Connection.with(configuration, logger: .silent) { $0.route }
                        #expect(route == expected)
                    }
                }
            }
        }
    }

    /// A notification that a server process of a transaction pooler sends late may arrive with the next answer.
    @Test func aSlowServerProcessIsNotTakenForASession() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { slow in
                slow.behaviour = .stallsAfter("listen \"accountctl_", seconds: 1)
                try await PgBouncer.with(.transaction, to: database.cluster, through: slow) { first in
                    try await PgBouncer.with(.transaction, to: database.cluster, through: slow) { second in
                        try await TCPProxy.with(to: first.port, second.port) { proxy in
                            let configuration = ConnectionConfiguration(
                                conninfo: "host=127.0.0.1 port=\(proxy.port) user=postgres dbname=\(database.name)"
                            )
                            let route = try await Connection.with(configuration, logger: .silent) { $0.route }
                            #expect(route == .transactionPooler)
                        }
                    }
                }
            }
        }
    }

    /// Clients that connect at once take each other's server processes, from which none may conclude that the pooler
    /// keeps sessions; a client that waits too long for a process may conclude nothing.
    @Test func aBusyTransactionPoolerIsNotTakenForOneOfSessions() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, poolSize: 20, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                // The pooler starts one process at a time, and a late answer must count as well.
                configuration.cancelGrace = .seconds(60)
                try await withThrowingTaskGroup(of: Route.self) { [configuration] group in
                    for _ in 0..<8 {
                        group.addTask { try await Connection.with(configuration, logger: .silent) { $0.route } }
                    }
                    for try await route in group { #expect(!route.keepsSession) }
                }
            }
        }
    }

    /// Supavisor may be configured to refuse session state, which detecting the kind of pooler would leave behind.
    @Test func theSharedPoolerIsNotAskedWhetherItIsAServer() async throws {
        try await TestDatabase.with(.empty) { database in
            let place = database.conninfo(port: database.cluster.port)
            let conninfo = place + " host=aws-0-eu-west-1.pooler.supabase.com hostaddr=127.0.0.1"
            let configuration = ConnectionConfiguration(conninfo: conninfo)
            let route = try await Connection.with(configuration, logger: .silent) { $0.route }
            // Detection would have found that this is a server.
            #expect(route == .sessionPooler)
        }
    }

    @Test func aSessionPoolerIsAsGoodAsNone() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await Connection.with(configuration, logger: .silent) { connection in
                    #expect(connection.route == .sessionPooler)
                    for number in 0..<5 {
                        let value = try connection.one("select \(number)", as: Int.self)
                        #expect(value == number)
                    }
                }
                try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                    for await event in events {
                        switch event {
                        case .listening: try await database.psql("notify jobs")
                        case .notification: return
                        case .lost, .unavailable: Issue.record("\(event)")
                        }
                    }
                }
            }
        }
    }

    /// Without a reset query, what a client prepared stays on the server process that the next client gets.
    @Test func aSessionPoolerMayKeepWhatTheLastClientPrepared() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["server_reset_query ="]
            try await PgBouncer.with(.session, poolSize: 2, settings: settings, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                for _ in 0..<3 {
                    try await Connection.with(configuration, logger: .silent) { connection in
                        for _ in 0..<3 { _ = try connection.one("select 42", as: Int.self) }
                    }
                }
            }
        }
    }

    /// Detection takes a second connection; when none is to be had the kind of pooler stays unknown, and detection runs
    /// again.
    @Test func aFullSessionPoolerIsNotTakenForOneOfTransactionsByAListener() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, poolSize: 2, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await bouncer.whileOccupied(in: database) { leave in
                    try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                        var isFirst = true
                        for await event in events {
                            switch event {
                            case .lost(let error):
                                #expect(error.isTransient, "\(error)")
                                if isFirst { leave() }
                                isFirst = false
                            case .listening:
                                #expect(!isFirst)
                                return
                            case .notification, .unavailable:
                                Issue.record("\(event)")
                                return
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func aFullSessionPoolerIsAskedAgainByTheNextConnectionOfAPool() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, poolSize: 2, to: database.cluster) { bouncer in
                let connection = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await bouncer.whileOccupied(in: database) { leave in
                    try await Pool.withPool(PoolConfiguration(connection: connection), logger: .silent) { pool in
                        var route = try await self.route(pool)
                        #expect(route == .unknownPooler)
                        leave()
                        // The connection comes free once the pooler has noticed that its client is gone.
                        while route == .unknownPooler { route = try await self.route(pool) }
                        #expect(route == .sessionPooler)
                    }
                }
            }
        }
    }

    /// Taken for the server, it would get prepared statements and settings that its other clients meet.
    @Test func aPoolerThatTakesTheServersPlaceIsFoundOut() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, to: database.cluster) { bouncer in
                try await TCPProxy.with(to: database.cluster.port, bouncer.port) { proxy in
                    let connection = ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                    try await Pool.withPool(PoolConfiguration(connection: connection), logger: .silent) { pool in
                        let routes = try await [self.route(pool), self.route(pool)]
                        #expect(routes == [.direct, .transactionPooler])
                    }
                }
            }
        }
    }

    /// A pooler lets clients in that it has no connection for, and says nothing of it.
    @Test func whoGetsNoConnectionOfAPoolerIsToldWhatItMayBe() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, poolSize: 1, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.cancelGrace = .milliseconds(100)
                let error = try await bouncer.whileOccupied(in: database) { [configuration] _ in
                    try await PostgresError.expected {
                        try await Connection.with(configuration, logger: .silent) { _ in }
                    }
                }
                #expect(error.code == .connectionFailed && error.description.contains("pooler"), "\(error)")
            }
        }
    }

    /// The route of a new connection, which is not reused since a transaction is left open in it.
    private func route(_ pool: Pool) async throws -> Route {
        try await pool.withConnection { connection in
            try connection.script(unsafeSQL: "begin")
            return connection.route
        }
    }

    @Test func aDirectConnectionIsKnownAsOne() async throws {
        try await TestDatabase.with(.empty) { database in
            var configuration = database.configuration
            configuration.pooler = .detect
            let route = try await Connection.with(configuration, logger: .silent) { $0.route }
            #expect(route == .direct)
        }
    }
}
