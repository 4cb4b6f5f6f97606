import Terminal

@testable import accountctl

/// What the program says of a command line that it does not take, without a start of the program.
///
/// For many mistakes: a start takes a debug build long, and all of them are told by the same code.
struct CommandLineMistake {
    /// The exit status of the program.
    let status: Int32
    /// What it writes to standard error.
    let errors: String

    /// Reads the words as the program does; nil if they are a command, which it would run.
    init?(_ words: [String]) {
        let launch = Launch(arguments: words, environment: [:])
        let written = WrittenText()
        do {
            _ = try Launch.command(launch.words)
            return nil
        } catch {
            status = launch.reportParsing(error, Messages(style: .plain, sink: written)).rawValue
            errors = written.text
        }
    }
}
