import HTTPCalls
import Settings
import SignInWithApple

extension CommandContext {
    /// Gives `body` the project's settings of Sign in with Apple.
    ///
    /// - Throws: ``CommandError`` when the management API is not configured.
    func withProject<Result: Sendable>(
        _ settings: Settings,
        _ body: @Sendable (ProjectAuthSettings) async throws -> Result
    ) async throws -> Result {
        let logger = logger(settings)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            guard let project = try settings.supabase.project(caller) else {
                throw CommandError(
                    .usage,
                    "Supabase's management API is not configured",
                    hint: "Set supabase.project and supabase.access_token_file."
                )
            }
            return try await body(project)
        }
    }
}

extension SupabaseSettings {
    /// The project; nil if the management API is not configured.
    func project(_ caller: HTTPCaller) throws -> ProjectAuthSettings? {
        guard let project, let accessToken else { return nil }
        do {
            return ProjectAuthSettings(
                project: project,
                token: accessToken,
                address: try ServiceAddress(host),
                caller: caller
            )
        } catch {
            throw CommandError(.usage, "supabase.host: \(error)")
        }
    }
}
