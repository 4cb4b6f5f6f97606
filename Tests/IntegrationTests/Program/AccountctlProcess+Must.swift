import Testing

extension AccountctlProcess {
    /// Runs a command that has to succeed, and returns its output.
    @discardableResult
    static func must(
        _ words: [String],
        _ variables: [String: String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await AccountctlProcess(words, environment: variables).result()
        #expect(result.status == 0, "\(words): \(result.errors)", sourceLocation: sourceLocation)
        return result.output
    }
}
