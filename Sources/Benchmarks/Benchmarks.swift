import ArgumentParser

/// Measures the product and prints each figure beside a floor measured in the same run.
@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Benchmarks",
        abstract: "Measures the product against a floor taken in the same run.",
        subcommands: [ListCommand.self, RunCommand.self, SoakCommand.self, ApplyCommand.self]
    )
}
