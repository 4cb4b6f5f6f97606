import ArgumentParser
import Logging
import Postgres

/// The options of every helper of the demo.
struct DemoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The demo's database, as its superuser: the helpers take the roles of Auth and of signed-in users.",
            valueName: "conninfo"
        )
    )
    var database: String

    @Option(help: ArgumentHelp("The running sandbox.", valueName: "url"))
    var sandbox: String

    @Option(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var client = "com.example.app"

    /// The number of people who are handled concurrently.
    static let concurrency = 4

    func withDatabase(_ body: @Sendable (DemoDatabase) async throws -> Void) async throws {
        var configuration = PoolConfiguration(connection: ConnectionConfiguration(conninfo: database))
        configuration.maximumConnections = Self.concurrency
        try await Pool.withPool(configuration, logger: Logger(label: "accountctl.sandbox.demo")) { pool in
            try await body(DemoDatabase(pool: pool))
        }
    }

    /// Runs a closure for each element, a few at a time; the first failure ends all.
    static func forEach<Element: Sendable>(
        _ elements: [Element],
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= concurrency { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}
