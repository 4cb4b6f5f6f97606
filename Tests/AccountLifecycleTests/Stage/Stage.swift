import AccountLifecycle
import Foundation
import HTTPCalls
import Logging
import ObjectStorage
import Postgres
import Sandbox
import SandboxClients
import Sealing
import SignInWithApple
import TestSupport
import Testing

@testable import JobQueue

/// A database with every migration, simulated Apple and Storage services, and everything else that deletions need.
struct Stage: Sendable {
    static let clientID = "com.example.app"
    /// A deadline against hangs; twice this time is less than a code's exchange has, and less than the usual lease.
    private static let appleDeadline = Duration.seconds(15)

    let database: TestDatabase
    let sandbox: Sandbox
    let caller: HTTPCaller
    /// Connects as the product does.
    let pool: Pool
    /// Connects as the superuser, for fixtures and for inspecting the database.
    let admin: Pool
    let vault: IdentifierVault
    let apple: AppleClients
    let storage: StorageClient

    /// A policy without waits, under which a request runs to its end at once.
    static var swift: DeletionPolicy {
        var policy = DeletionPolicy()
        policy.grace = .zero
        policy.tokenLife = .zero
        policy.uploadLife = .zero
        policy.hourlyCeiling = 1000
        // A file that has no owner and that only a profile names belongs to the profile's account.
        policy.avatarFolders = AvatarFolders(accounts: ["/"])
        return policy
    }

    static func with<Result: Sendable>(_ body: @Sendable (Stage) async throws -> Result) async throws -> Result {
        try await TestDatabase.with(.migrated) { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stage-\(UUID().uuidString)")
                .path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var configuration = SandboxConfiguration()
            configuration.storage = .init(
                conninfo: database.cluster.conninfo(database: database.name, user: "supabase_storage_admin"),
                folder: folder
            )
            let logger = Logger.silent
            return try await Sandbox.with(configuration, logger: logger) { sandbox in
                var fast = HTTPCaller.Configuration()
                fast.callsPerHost = 16
                return try await HTTPCaller.withCaller(configuration: fast, logger: logger) { caller in
                    let apple = try AppleClients(of: sandbox, [clientID], caller: caller, deadline: appleDeadline)
                    let storage = StorageClient(
                        address: try ServiceAddress(sandbox.storage.url, allowPlainHTTP: true),
                        key: try StorageKey(Secret(sandbox.storage.keys.secretKey)),
                        caller: caller,
                        deadline: .seconds(20)
                    )
                    let keys = try KeyRing([.named("test1")])
                    let vault = IdentifierVault(keys: keys, hashKey: try HashKey(.named("hash1")))
                    return try await database.withPool(sessionSettings: ["jit": "off"]) { pool in
                        try await database.withPool(asAdministrator: true) { admin in
                            try await body(
                                Stage(
                                    database: database,
                                    sandbox: sandbox,
                                    caller: caller,
                                    pool: pool,
                                    admin: admin,
                                    vault: vault,
                                    apple: apple,
                                    storage: storage
                                )
                            )
                        }
                    }
                }
            }
        }
    }

    /// Clients for the usual client id and for another one, which is in no group with the usual one.
    func clients(and other: String) throws -> AppleClients {
        sandbox.apple.register(client: other)
        return try AppleClients(
            of: sandbox,
            [Self.clientID, other],
            key: sandbox.apple.makeKey(),
            caller: caller,
            deadline: Self.appleDeadline
        )
    }

    /// Moves the app to another team, and makes clients with that team's key.
    func clientsAfterMove() throws -> AppleClients {
        let team = "RECIPIENT1"
        sandbox.apple.startTransfer(of: Self.clientID, to: team)
        sandbox.apple.acceptTransfer(of: Self.clientID)
        return try AppleClients(
            of: sandbox,
            [Self.clientID],
            key: sandbox.apple.makeKey(teamID: team),
            caller: caller,
            deadline: Self.appleDeadline
        )
    }

    /// The desk of an operator called test.
    var desk: DeletionDesk { DeletionDesk(Operator(name: "test", hashKey: vault.hashKey)) }

    func services(
        _ policy: DeletionPolicy = Stage.swift,
        vault: IdentifierVault? = nil,
        apple: AppleClients? = nil,
        codes: Pool? = nil,
        pool: Pool? = nil,
        logger: Logger = .silent,
        probe: @escaping DeletionProbe = { _ in }
    ) -> DeletionServices {
        DeletionServices(
            pool: pool ?? self.pool,
            codes: codes,
            policy: policy,
            vault: vault ?? self.vault,
            apple: AppleGateway(apple ?? self.apple),
            storage: StorageGateway(storage),
            logger: logger,
            probe: probe
        )
    }

    /// Drives a request once, as one attempt of its job would.
    @discardableResult
    func drive(
        _ request: UUID,
        _ policy: DeletionPolicy = Stage.swift,
        probe: @escaping DeletionProbe = { _ in }
    ) async throws -> DeletionDriver.Pause {
        try await DeletionDriver(services(policy, probe: probe)).drive(request)
    }

    /// Requests the deletion of a person's account, which one attempt brings to its verified end.
    @discardableResult
    func erase(
        _ person: Person,
        _ policy: DeletionPolicy = Stage.swift,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UUID {
        let request = try await request(person)
        let pause = try await drive(request, policy)
        #expect(pause == .ended(.verified), sourceLocation: sourceLocation)
        return request
    }

    /// What an operator is shown before the deletion of a person's account.
    func preview(of person: Person, asksTriggers: Bool = false) async throws -> DeletionPreview? {
        try await pool.withConnection {
            try await DeletionPreview.read(person.id, policy: Stage.swift, asksTriggers: asksTriggers, on: $0)
        }
    }

    func sql(_ statement: Statement) async throws {
        _ = try await admin.withConnection { try $0.execute(statement) }
    }

    func value<Value: PostgresDecodable>(_ statement: Statement, as type: Value.Type) async throws -> Value {
        try await admin.withConnection { try $0.one(statement, as: type) }
    }

    func count(_ statement: Statement) async throws -> Int {
        try await value("select count(*) from (\(statement)) as counted", as: Int.self)
    }

    func state(_ request: UUID) async throws -> String {
        try await value("select state from accountctl.deletion_requests where id = \(request)", as: String.self)
    }

    func situation(_ request: UUID) async throws -> Situation? {
        try await value(
            "select situation from accountctl.deletion_requests where id = \(request)",
            as: JSON<Situation>?.self
        )?.value
    }

    func outcome(_ step: DeletionStep, _ request: UUID) async throws -> String? {
        try await value(
            """
            select max(outcome)
            from accountctl.deletion_steps
            where request_id = \(request) and step = \(step.rawValue)
            """,
            as: String?.self
        )
    }

    /// Leases the only job of a kind to a worker, as a claim does, even if another worker holds the job.
    func claim(_ kind: String) async throws -> JobFence {
        let (job, lease, worker) = try await admin.withConnection { connection in
            try connection.one(
                """
                with host as (
                    insert into accountctl.workers (id, name, version, slots, queues, kinds, expires_at)
                    values (1, 'test', '1', 1, '{}', '{}', now() + interval '1 hour')
                    on conflict do nothing
                )
                update accountctl.jobs
                set state = 'running', worker = 1, lease = lease + 1
                where kind = \(kind)
                returning id, lease, worker
                """,
                as: (Int64, Int64, Int64).self
            )
        }
        return JobFence(queue: JobQueue(), job: JobLease(id: job, lease: lease, worker: worker))
    }

    /// Drives a request until a probe simulates the death of the process.
    func driveToCrash(_ request: UUID, _ probe: @escaping DeletionProbe) async throws {
        do {
            try await drive(request, probe: probe)
        } catch is SimulatedCrash {}
    }

    /// Tests the client id, which closes the circuit breaker once Apple has recovered.
    func testApple() async throws {
        _ = try await apple[Self.clientID]?.selfTest()
    }
}
