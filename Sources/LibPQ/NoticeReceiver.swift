import CLibpq

/// Holds the closure that libpq's C callback cannot carry.
final class NoticeReceiver: Sendable {
    let receive: @Sendable ([ErrorField: String]) -> Void

    init(_ receive: @escaping @Sendable ([ErrorField: String]) -> Void) {
        self.receive = receive
    }
}

/// libpq's callback: a file-level function, because a closure created in a main-actor context would trap on the
/// connection's thread.
func receiveNotice(_ context: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
    guard let context = unsafe context, let result = unsafe result else { return }
    unsafe Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue().receive(ErrorField.all(of: result))
}
