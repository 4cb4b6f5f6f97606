import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Collects text until it is longer than the screen, and from then on passes it to a pager.
final class PagerSink: ByteSink {
    private let pager: Pager
    private let sink: any ByteSink
    private let state = Mutex(State.collecting(""))

    private enum State {
        /// The text so far fits on the screen.
        case collecting(String)
        case paging(PagerProcess)
        case ended
    }

    private init(_ pager: Pager, _ sink: any ByteSink) {
        self.pager = pager
        self.sink = sink
    }

    /// Passes `body` a sink, and returns when everything was shown and the pager has exited.
    ///
    /// If the person quits the pager early, the rest is not produced, and this is not an error.
    static func withPager(_ pager: Pager, _ sink: any ByteSink, _ body: (PagerSink) throws -> Void) throws {
        let paged = PagerSink(pager, sink)
        do {
            try body(paged)
        } catch is PagerLeft {
            // The person quit the pager, so there is nothing more to show.
        } catch {
            try paged.end()
            throw error
        }
        try paged.end()
    }

    func write(_ text: String) throws {
        try state.withLock { state in
            switch state {
            case .collecting(let before):
                let all = before + text
                guard pager.height(of: all) >= pager.rows else {
                    state = .collecting(all)
                    return
                }
                guard let process = PagerProcess(pager) else {
                    // The pager could not be started, so the text is written directly.
                    state = .ended
                    try sink.write(all)
                    return
                }
                state = .paging(process)
                try process.write(all)
            case .paging(let process): try process.write(text)
            case .ended: try sink.write(text)
            }
        }
    }

    private func end() throws {
        try state.withLock { state in
            switch state {
            case .collecting(let text): if !text.isEmpty { try sink.write(text) }
            case .paging(let process): process.waitForEnd()
            case .ended: break
            }
            state = .ended
        }
    }
}

/// The person quit the pager before everything was written.
private struct PagerLeft: Error {}

/// A running pager, with a pipe to its standard input.
private struct PagerProcess {
    private let id: pid_t
    private let input: Int32
    /// The previous SIGINT handler as a number: SIG_IGN is the address 1, and the compiler takes a function pointer of
    /// that value inside an optional structure for nil.
    private let interrupt: UInt

    /// Starts the pager; nil if it cannot be started.
    init?(_ pager: Pager) {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { return nil }
        // The pager must not inherit our end of the pipe, or it would never see the end of its input.
        _ = fcntl(pipes[1], F_SETFD, FD_CLOEXEC)
        guard let id = Self.start(pager, input: pipes[0]) else {
            close(pipes[0])
            close(pipes[1])
            return nil
        }
        close(pipes[0])
        self.id = id
        input = pipes[1]
        // The pager handles Ctrl-C while it runs; if this process exited before it, the terminal would not be restored.
        interrupt = unsafeBitCast(signal(SIGINT, SIG_IGN), to: UInt.self)
    }

    private static func start(_ pager: Pager, input: Int32) -> pid_t? {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        if input != 0 { posix_spawn_file_actions_addclose(&actions, input) }
        // Signals that this process ignores must have their default action in the pager.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGINT, SIGPIPE, SIGQUIT] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        let words = ["sh", "-c", pager.command]
        let variables = pager.environment.map { "\($0.key)=\($0.value)" }
        return withCStrings(words) { arguments in
            withCStrings(variables) { environment in
                var id: pid_t = 0
                return posix_spawn(&id, "/bin/sh", &actions, &attributes, arguments, environment) == 0 ? id : nil
            }
        }
    }

    private static func withCStrings<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result?
    ) -> Result? {
        var copies = texts.map { strdup($0) }
        copies.append(nil)
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { $0.baseAddress.flatMap(body) }
    }

    func write(_ text: String) throws {
        do {
            try DescriptorSink(descriptor: input).write(text)
        } catch is OutputClosed {
            throw PagerLeft()
        }
    }

    func waitForEnd() {
        close(input)
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        _ = signal(SIGINT, unsafeBitCast(interrupt, to: sig_t?.self))
    }
}
