#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Keeps keys and tokens out of core files.
enum CoreDumps {
    /// Forbids core files for this process and its children.
    ///
    /// The resource limit applies to core files only. Where the system pipes cores to a collector the limit has no
    /// effect, and the dump filter leaves out all memory instead (core(5)). Failures are ignored: a machine without the
    /// filter file has no such collector.
    static func forbid() {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
            _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            // With plain system calls: every command runs this code at its start, and needs no more than one write.
            let filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC)
            guard filter >= 0 else { return }
            _ = write(filter, "0", 1)
            close(filter)
        #else
            _ = setrlimit(RLIMIT_CORE, &limit)
        #endif
    }
}
