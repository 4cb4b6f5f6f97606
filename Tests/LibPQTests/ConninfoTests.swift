import LibPQ
import Testing

@Suite struct ConninfoTests {
    @Test func leavesOutThePassword() throws {
        let conninfo = try Conninfo("postgresql://anna:secret@db.example.com:6543/app?sslmode=require")
        let parameters = Dictionary(uniqueKeysWithValues: conninfo.parameters.map { ($0.keyword, $0.value) })
        #expect(
            parameters == [
                "user": "anna", "host": "db.example.com", "port": "6543", "dbname": "app", "sslmode": "require",
            ]
        )
    }
}
