#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a signal does to this process.
struct SignalAction {
    private let number: Int32
    private var action = sigaction()

    /// What it does now.
    init(of number: Int32) {
        self.number = number
        sigaction(number, nil, &action)
    }

    /// Whether it does nothing, as `nohup` and shells have it for what is to go on without them.
    var isIgnored: Bool {
        #if os(Linux)
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
            unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }

    /// Makes it what the signal does again.
    func restore() {
        var action = action
        sigaction(number, &action, nil)
    }
}
