#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The thread-local key under which each event thread keeps the address of its loop.
///
/// A thread-local is used instead of `pthread_self()`: that is declared const, so optimized code may reuse its value
/// after an await, on another thread. For the same reason the lookup is never inlined.
private let currentLoopKey: pthread_key_t = {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "no thread-local key left")
    return key
}()

enum CurrentThread {
    /// The address of the loop that the calling thread runs, nil on any other thread.
    @inline(never)
    static func loop() -> UnsafeMutableRawPointer? {
        pthread_getspecific(currentLoopKey)
    }

    /// Marks the calling thread as the one that runs a loop.
    static func setLoop(_ address: UnsafeMutableRawPointer?) {
        pthread_setspecific(currentLoopKey, address)
    }
}
