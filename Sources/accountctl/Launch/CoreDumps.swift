#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Keeps keys and tokens out of core files.
enum CoreDumps {
    /// Forbids them for this process and those it starts.
    ///
    /// The limit holds for files; where the system pipes cores to a collector it holds nothing, and the filter leaves
    /// all memory out (core(5)). What cannot be set is left: a machine without the file has no such collector.
    static func forbid() {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
            _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            // By hand: every command starts here, and this is the whole of a file's writing that it needs.
            let filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC)
            guard filter >= 0 else { return }
            _ = write(filter, "0", 1)
            close(filter)
        #else
            _ = setrlimit(RLIMIT_CORE, &limit)
        #endif
    }
}
