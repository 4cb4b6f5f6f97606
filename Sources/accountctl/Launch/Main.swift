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
        // If the reader of the output goes away, the write fails; SIGPIPE would end the process half-way through its
        // work.
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
        // An asynchronous `main` would start three threads before any work begins.
        Task.detached(executorPreference: thread) { end(await launch.run(on: thread)) }
        thread.run()
    }

    /// Unblocks the signals that end the program, in case the parent process has blocked them.
    private static func heedSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        // Process 1 of a container gets no default actions, so that only SIGKILL would end it.
        guard getpid() == 1 else { return }
        for number in [SIGINT, SIGTERM, SIGHUP] where !SignalAction(of: number).isIgnored {
            signal(number) { _exit(128 + $0) }
        }
    }

    /// Ends the process from any thread; returning to `main` would start another thread.
    private nonisolated static func end(_ status: ExitStatus) -> Never {
        // The parser's own output goes through the C library's buffers.
        fflush(nil)
        // Not `exit`: the libraries' exit handlers take half a millisecond to release what ends with the process
        // anyway.
        _exit(status.rawValue)
    }
}
