#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that has no name until it is complete, so that an interrupted process leaves nothing behind.
///
/// Linux has such files on most file systems (`O_TMPFILE`). Elsewhere the file has a temporary name, which handlers of
/// SIGINT, SIGTERM, SIGHUP and SIGQUIT unlink before the process ends.
struct NamelessFile {
    let descriptor: Int32
    /// The temporary name; nil if the file has none.
    private let partial: String?

    /// Creates a file in the folder of `path`; nil, with `errno` set, if that fails.
    init?(near path: String, partial: String) {
        if let descriptor = Self.openNameless(inFolderOf: path) {
            self.descriptor = descriptor
            self.partial = nil
            return
        }
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.partial = partial
        Abandoned.remember(partial)
    }

    /// Gives the file a name that does not exist yet; false, with `errno` set, if that fails.
    func takeName(_ name: String) -> Bool {
        guard let partial else { return Self.linkNameless(descriptor, to: name) }
        return name == partial || link(partial, name) == 0
    }

    /// Closes the file, and unlinks its temporary name.
    func remove() {
        close(descriptor)
        guard let partial else { return }
        unlink(partial)
        Abandoned.forget()
    }

    #if os(Linux)
        private static func openNameless(inFolderOf path: String) -> Int32? {
            let slash = path.lastIndex(of: "/")
            let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            // `O_TMPFILE`: the header defines the flag as an expression, which is not imported.
            let nameless = 0o20_000_000 | O_DIRECTORY
            let descriptor = open(folder, nameless | O_WRONLY | O_CLOEXEC, 0o600)
            return descriptor >= 0 ? descriptor : nil
        }

        private static func linkNameless(_ descriptor: Int32, to name: String) -> Bool {
            linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
        }
    #else
        private static func openNameless(inFolderOf path: String) -> Int32? { nil }
        private static func linkNameless(_ descriptor: Int32, to name: String) -> Bool { false }
    #endif
}

/// The unfinished file that a signal handler unlinks before the process ends.
private enum Abandoned {
    /// Set before the handlers are installed and cleared after they are restored, since a signal handler must not take
    /// a lock.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    /// The previous actions of the signals.
    nonisolated(unsafe) private static var former: [SignalAction] = []

    static func remember(_ name: String) {
        path = strdup(name)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let action = SignalAction(of: number)
            // Signals that the parent process set to be ignored stay ignored.
            guard !action.isIgnored else { continue }
            signal(number, handler)
            former.append(action)
        }
    }

    static func forget() {
        for action in former { action.restore() }
        former = []
        free(path)
        path = nil
    }

    private static let handler: @convention(c) (Int32) -> Void = { number in
        if let path { unlink(path) }
        // Process 1 of a container gets no default actions.
        if getpid() == 1 { _exit(128 + number) }
        signal(number, SIG_DFL)
        raise(number)
    }
}
