#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that has no name until it is whole: a process that is ended in the middle leaves nothing behind.
///
/// Linux has such files on most file systems. Elsewhere it is a file with a name of its own, which the signals that end
/// a process from the keyboard, or when its terminal goes, take away first.
struct NamelessFile {
    let descriptor: Int32
    /// The name it has meanwhile, where it cannot be without.
    private let partial: String?

    /// Makes one in the folder of `path`; nil, with `errno` set, when that cannot be.
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

    /// Gives it a name that nothing has yet; false, with `errno` set, when that cannot be.
    func takeName(_ name: String) -> Bool {
        guard let partial else { return Self.linkNameless(descriptor, to: name) }
        return name == partial || link(partial, name) == 0
    }

    /// Closes it, and takes away the name it had meanwhile.
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
            // The header writes the flag as an expression, which is not imported.
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

/// The unfinished file that a signal takes away before it ends the process.
private enum Abandoned {
    /// Written before the handlers are set, cleared after they are taken back: a handler must not wait for a lock.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    /// What the signals did before.
    nonisolated(unsafe) private static var former: [SignalAction] = []

    static func remember(_ name: String) {
        path = strdup(name)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let action = SignalAction(of: number)
            // What whoever started the process had it ignore stays ignored.
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
        // No default action reaches the first process of a container.
        if getpid() == 1 { _exit(128 + number) }
        signal(number, SIG_DFL)
        raise(number)
    }
}
