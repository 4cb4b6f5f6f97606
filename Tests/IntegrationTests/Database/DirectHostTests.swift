import Testing

@testable import Postgres
@testable import accountctl

@Suite("The direct host of a project, which needs IPv6")
struct DirectHostTests {
    @Test(
        "An unreachable direct host gets a hint at the pooler",
        arguments: [
            ("db.abcdefghijklmnopqrst.supabase.co", true), ("aws-0-eu-west-1.pooler.supabase.com", false),
            ("localhost", false),
        ]
    )
    func unreachable(host: String, isDirect: Bool) {
        let error = PostgresError(
            .connectionFailed,
            reason: "connection to server at \"\(host)\" (2001:db8::1), port 5432 failed: Network is unreachable",
            connectionUsable: false
        )
        let report = error.report
        #expect(report.status == .temporary && report.hint?.contains("only IPv6") == isDirect, "\(report)")
    }
}
