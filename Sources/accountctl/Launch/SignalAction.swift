#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The action of a signal in this process, as it was when read.
struct SignalAction {
    private let number: Int32
    private var action = sigaction()

    /// Reads the current action.
    init(of number: Int32) {
        self.number = number
        sigaction(number, nil, &action)
    }

    /// Whether the signal is ignored, as `nohup` and shells arrange for processes that are to outlive them.
    var isIgnored: Bool {
        #if os(Linux)
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
            unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }

    /// Restores this action.
    func restore() {
        var action = action
        sigaction(number, &action, nil)
    }
}
