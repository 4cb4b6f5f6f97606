#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a file is, and who may read and write it, as the system says.
package struct FileModes: Sendable {
    private let mode: mode_t
    private let owner: uid_t

    init(_ mode: mode_t, of owner: uid_t) {
        self.mode = mode
        self.owner = owner
    }

    /// Those of what a path leads to; nil where there is nothing, or it cannot be looked at.
    package init?(path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        self.init(found.st_mode, of: found.st_uid)
    }

    /// Those of an open file; nil where it cannot be looked at.
    init?(descriptor: CInt) {
        var found = stat()
        guard fstat(descriptor, &found) == 0 else { return nil }
        self.init(found.st_mode, of: found.st_uid)
    }

    /// Whether it is a plain file, which can be read again: a pipe cannot.
    package var isPlain: Bool { mode & S_IFMT == S_IFREG }

    /// Whether everybody on the machine may write it.
    package var isWritableByAll: Bool { mode & S_IWOTH != 0 }

    /// Whether others may read it than its owner and who reads it here.
    ///
    /// What belongs to somebody else, as what a secret store mounts does, is read by its group, or not at all.
    func isOpen(to reader: uid_t) -> Bool {
        mode & (owner == reader ? S_IRGRP | S_IROTH : S_IROTH) != 0
    }
}
