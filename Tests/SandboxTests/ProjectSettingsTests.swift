import Sandbox
import Testing

/// The project's settings, as Supabase's management API shows them.
@Suite struct ProjectSettingsTests {
    @Test func aSecretIsShownByItsHash() async throws {
        try await Sandbox.with { sandbox async throws in
            sandbox.project.change { $0.secret = "secret" }
            let answer = try await Answer.to(
                .get,
                "\(sandbox.baseURL)/v1/projects/\(sandbox.project.reference)/config/auth",
                headers: ["Authorization": "Bearer \(sandbox.project.token)"]
            )
            // With a zero before bytes that have one digit, such as its third.
            let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
            #expect(answer["external_apple_secret"] == hash)
        }
    }
}
