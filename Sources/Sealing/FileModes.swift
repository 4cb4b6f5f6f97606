#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The type and the permissions of a file.
package struct FileModes: Sendable {
    private let mode: mode_t
    private let owner: uid_t

    init(_ mode: mode_t, of owner: uid_t) {
        self.mode = mode
        self.owner = owner
    }

    /// The modes of the file at a path; nil if there is none or it cannot be inspected.
    package init?(path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        self.init(found.st_mode, of: found.st_uid)
    }

    /// The modes of an open file; nil if it cannot be inspected.
    init?(descriptor: CInt) {
        var found = stat()
        guard fstat(descriptor, &found) == 0 else { return nil }
        self.init(found.st_mode, of: found.st_uid)
    }

    /// Whether it is a regular file, which can be read again, unlike a pipe.
    package var isPlain: Bool { mode & S_IFMT == S_IFREG }

    /// Whether the file belongs to the user of this process.
    package var isOwn: Bool { owner == geteuid() }

    /// Whether every user of the machine may write the file.
    package var isWritableByAll: Bool { mode & S_IWOTH != 0 }

    /// Whether users other than the owner and the current reader may read the file.
    ///
    /// For a file of another owner, such as one mounted by a secret store, group access does not count, since the
    /// current reader may need it.
    func isOpen(to reader: uid_t) -> Bool {
        mode & (owner == reader ? S_IRGRP | S_IROTH : S_IROTH) != 0
    }
}
