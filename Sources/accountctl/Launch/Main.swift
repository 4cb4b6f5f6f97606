import EventThread

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
enum Main {
    static func main() {
        StandardDescriptors.occupy()
        // A reader that goes away is an error of the write, not the end of the process in the middle of something.
        signal(SIGPIPE, SIG_IGN)
        heedSignals()
        CoreDumps.forbid()
        let launch = Launch(arguments: Array(CommandLine.arguments.dropFirst()))
        if let status = launch.answerPlainly() { end(status) }
        let thread: EventThread
        do {
            thread = try EventThread()
        } catch {
            end(launch.report(CommandError(.failure, "this program cannot start: \(error)")))
        }
        // Not by an asynchronous `main`: it would start three threads before anything is asked for.
        Task.detached(executorPreference: thread) { end(await launch.run(on: thread)) }
        thread.run()
    }

    /// Lets the signals that are to end the program reach it: takes back what whoever started it has blocked.
    private static func heedSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        // The first process of a container is kept from default actions: nothing would end it but being killed.
        guard getpid() == 1 else { return }
        for number in [SIGINT, SIGTERM, SIGHUP] where !SignalAction(of: number).isIgnored {
            signal(number) { _exit(128 + $0) }
        }
    }

    /// Ends the process from any thread: the way back to `main` would start another one.
    private nonisolated static func end(_ status: ExitStatus) -> Never {
        // What the parser prints by itself goes through the C library.
        fflush(nil)
        // Not `exit`, at which the libraries put away, for half a millisecond, what goes with the process anyway.
        _exit(status.rawValue)
    }
}
