#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The key under which each event thread keeps its own loop's address.
///
/// A thread-local and not `pthread_self()`: that one is declared const, so optimised code may reuse its value across an
/// await, on another thread. For the same reason the look-up is never inlined.
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
