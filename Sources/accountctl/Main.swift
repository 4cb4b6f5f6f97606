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
        await run(Array(CommandLine.arguments.dropFirst()))
    }

    /// Leaves the main actor, which an asynchronous `main` starts on and everything it calls would stay on.
    ///
    /// Ends the process itself: the way back would start another thread.
    @concurrent
    private static func run(_ arguments: [String]) async {
        // A reader that goes away is an error of the write, not the end of the process in the middle of something.
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.forbid()
        exit(await Launch(arguments: arguments).run().rawValue)
    }
}
