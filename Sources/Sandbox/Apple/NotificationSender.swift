import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Posts notifications to the app's server, as Apple does.
package struct NotificationSender: Sendable {
    private static let timeLimit = TimeAmount.seconds(10)

    private let apple: AppleSandbox
    private let url: String?
    private let outbox: AsyncStream<AppleNotification>
    private let intake: AsyncStream<AppleNotification>.Continuation
    private let logger: Logger

    init(apple: AppleSandbox, url: String?, logger: Logger) {
        self.apple = apple
        self.url = url
        self.logger = logger
        (outbox, intake) = AsyncStream.makeStream(of: AppleNotification.self)
    }

    /// The body that Apple posts.
    package func body(_ notification: AppleNotification, forgery: Forgery? = nil) throws -> String {
        #"{"payload":""# + (try apple.sign(notification, forgery: forgery)) + #""}"#
    }

    /// Posts a notification and waits for the answers.
    ///
    /// - Parameters:
    ///   - notification: the notification.
    ///   - url: the URL to post to; the configured one if nil.
    ///   - copies: how often the same token is posted, simulating redelivery.
    ///   - forgery: the defect to introduce.
    /// - Returns: the status of each answer.
    /// - Throws: ``SandboxError`` if there is no URL or `copies` is negative, and errors of the HTTP client.
    @discardableResult
    package func post(
        _ notification: AppleNotification,
        to url: String? = nil,
        copies: Int = 1,
        forgery: Forgery? = nil
    ) async throws -> [Int] {
        guard let url = url ?? self.url else { throw SandboxError("no notification URL is configured") }
        guard copies >= 0 else { throw SandboxError("copies must not be negative") }
        let body = try body(notification, forgery: forgery)
        var statuses: [Int] = []
        for _ in 0..<copies {
            statuses.append(try await post(body: body, to: url))
        }
        return statuses
    }

    /// Posts arbitrary text, as anybody could.
    ///
    /// - Parameters:
    ///   - body: the text.
    ///   - url: the URL to post to.
    /// - Returns: the status of the answer.
    /// - Throws: errors of the HTTP client.
    package func post(body: String, to url: String) async throws -> Int {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: Self.timeLimit)
        _ = try await response.body.collect(upTo: 1 << 20)
        return Int(response.status.code)
    }

    /// Queues a notification that Apple sends by itself; does nothing if no URL is configured.
    func enqueue(_ notification: AppleNotification) {
        guard url != nil else { return }
        intake.yield(notification)
    }

    /// Posts queued notifications until cancelled.
    func run() async {
        for await notification in outbox {
            do {
                try await post(notification)
            } catch {
                logger.warning("A notification was not delivered: \(error)")
            }
        }
    }
}
