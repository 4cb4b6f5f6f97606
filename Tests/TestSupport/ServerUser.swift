#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The user that servers run as: they refuse to run as root.
package enum ServerUser {
    /// A command that this user runs.
    package static func words(_ words: [String]) -> [String] {
        geteuid() == 0 ? ["runuser", "-u", "postgres", "--"] + words : words
    }
}
