import Postgres

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@main
enum Main {
    static func main() async {
        StandardDescriptors.occupy()
        // A reader that goes away is an error of the write, not the end of the process in the middle of something.
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.forbid()
        let launch = Launch(arguments: Array(CommandLine.arguments.dropFirst()))
        if let status = launch.answerPlainly() { end(status) }
        // Most commands connect.
        if let failure = Connection.loadLibrary() {
            end(launch.report(CommandError(.failure, "libpq cannot be loaded: \(failure)", hint: "install libpq 5")))
        }
        await run(launch)
    }

    /// Leaves the main actor, which an asynchronous `main` starts on and everything it calls would stay on.
    @concurrent
    private static func run(_ launch: Launch) async {
        end(await launch.run())
    }

    /// Ends the process from any thread: the way back to `main` would start another one.
    private nonisolated static func end(_ status: ExitStatus) -> Never {
        // What the parser prints by itself goes through the C library.
        fflush(nil)
        // Not `exit`, at which the libraries put away, for half a millisecond, what goes with the process anyway.
        _exit(status.rawValue)
    }
}
