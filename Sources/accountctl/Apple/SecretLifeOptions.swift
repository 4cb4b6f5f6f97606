import ArgumentParser

/// How long a new client secret lives.
struct SecretLifeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("How long it is valid; Apple accepts at most 182d. Default: 180d.", valueName: "duration")
    )
    var life: String?

    private static let option = LengthOption(name: "--life", unit: .day, bounds: 1...182)

    func validate() throws {
        _ = try inDays()
    }

    /// The lifetime in whole days.
    ///
    /// - Throws: `ValidationError` that names the option.
    func inDays() throws -> Int {
        try life.map(Self.option.count) ?? 180
    }
}
