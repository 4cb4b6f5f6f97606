import TestSupport
import Testing

@Suite("The doctor finds, of jobs:", .timeLimit(.minutes(5)))
struct DoctorJobTests {
    @Test("those beyond their usual attempts, which the command that it names lists alone")
    func exhausted() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key => 'tired');
                select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key => 'fresh');
                update accountctl.jobs set exhausted_at = now() where unique_key = 'tired'
                """
            )
            _ = try await deployment.find("jobs.exhausted", "error")
            let todo = try await deployment.examine().findings.first { $0.code == "jobs.exhausted" }?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (jobs list.*) names/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "unique_key"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "tired\n", "\(listed)")
        }
    }
}
