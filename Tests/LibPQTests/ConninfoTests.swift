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

    /// libpq accepts the first of these, and takes half of the password for the host, the port or the database.
    @Test(arguments: [
        "postgresql://postgres:hush/pst@db.example.com/postgres",
        "postgresql://postgres:hush@pst@db.example.com/postgres",
        "postgres://postgres:12/pst@db.example.com/postgres",
        "postgresql://postgres:hush@pst/hush@db.example.com/postgres",
        "postgresql://postgres:hush", "postgresql://postgres:hush?pst/hush@db/postgres",
        "postgresql://anna@corp:hush@db/postgres",
        "postgresql://postgres:hush%pst@db/postgres", "postgresql://postgres:12/hush?pst@db/postgres",
        "postgresql://postgres:12@hush/x?pst=hush@db/postgres", "postgresql://postgres:12/hush?pst=hush",
        "postgresql://postgres:99999/hush", "Postgresql://postgres:hush@db/postgres", "postgres:hush@db",
        "postgresqll://postgres:hush@db/postgres?sslmode=require", "host=db password=hush pst",
        "host=db password=hush pst=hush", "host=db password='hush' pst'",
        "postgresql://postgres:hush@\u{301}pst@db/postgres", "postgres:hush@\u{301}db", "host=db \u{301}hush",
        #"host=db password="hush "="hush "="#,
    ])
    func aPasswordThatWouldBeMisreadIsRefusedAndNotQuoted(text: String) throws {
        #expect(Conninfo.isConnectionString(text))
        let error = try #require(throws: ConninfoError.self) { try Conninfo(text) }
        for part in ["hush", "pst", "99999"] { #expect(!error.message.contains(part)) }
        if text.hasPrefix("postgresql:") { #expect(error.message.contains("%40")) }
    }

    @Test(arguments: [
        ("postgresql://u%40corp:p%2F%40@a%40b:5433,c/x%40y", ["a@b,c", "5433,", "x@y"]),
        ("postgresql://u:p?#[q@[::1]:6543/x?application_name=me@here", ["::1", "6543", "x"]),
        ("postgresql:///x", [nil, nil, "x"]), ("postgresql://db:/x", ["db", nil, "x"]),
        ("host=@abstract port=5432 dbname=a@b", ["@abstract", "5432", "a@b"]),
    ])
    func escapedAndOtherwiseRightOnesAreTaken(text: String, values: [String?]) throws {
        let parameters = try Conninfo(text).parameters
        for (keyword, value) in zip(["host", "port", "dbname"], values) {
            let found = parameters.first { $0.keyword == keyword }?.value
            #expect(found == value || value == nil && found == "")
        }
    }

    @Test func aMisspeltKeywordIsNamed() throws {
        let error = try #require(throws: ConninfoError.self) { try Conninfo("host=db sslmod=require") }
        #expect(error.message == #"invalid connection option "sslmod""#)
        let cut = try #require(throws: ConninfoError.self) { try Conninfo("host=db require") }
        #expect(cut.message.hasPrefix(#"missing "=" after …; expected a URI that begins with postgresql://"#))
    }

    @Test(arguments: [
        "https://abc.supabase.co", "jdbc:postgresql://db/app?user=a", "postgresql+asyncpg://a:hush@db/app",
    ])
    func aURIOfSomethingElseIsToldFromOne(text: String) throws {
        let error = try #require(throws: ConninfoError.self) { try Conninfo(text) }
        #expect(error.message == "a connection URI begins with postgresql:// or postgres://")
    }

    /// Prisma has such parameters, and Supabase's page about Prisma shows them.
    @Test func aParameterOfAnotherProgramIsNamed() throws {
        let text = "postgresql://postgres:hush@db:6543/postgres?pgbouncer=true&connection_limit=1"
        let error = try #require(throws: ConninfoError.self) { try Conninfo(text) }
        #expect(error.message == #"invalid URI query parameter: "pgbouncer""#)
    }
}
