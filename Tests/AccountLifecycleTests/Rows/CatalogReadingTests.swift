import AccountLifecycle
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CatalogReadingTests {
    /// Behind a transaction pooler, the settings of a session that keep the server from that do not apply.
    @Test func theServerCompilesNoQueryOfTheCatalog() async throws {
        try await Stage.with { stage in
            let compiles = try await stage.admin.withTransaction { connection in
                try connection.execute("set local jit = on")
                _ = try DeletionCatalog.read(on: connection)
                return try connection.one("show jit", as: String.self)
            }
            #expect(compiles == "off")
        }
    }
}
