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
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(status.rawValue)
    }

    /// Leaves the main actor, which an asynchronous `main` starts on and everything it calls would stay on.
    @concurrent
    private static func run(_ arguments: [String]) async -> ExitStatus {
        // A reader that goes away is an error of the write, not the end of the process in the middle of something.
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.forbid()
        return await Launch(arguments: arguments).run()
    }
}
