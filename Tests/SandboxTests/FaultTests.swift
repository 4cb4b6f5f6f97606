import Foundation
import Sandbox
import Testing

/// Faults on Apple's endpoints; those of Storage have their own tests.
@Suite struct FaultTests {
    @Test func answersOfOnesOwnAreMetInOrderAndCounted() async throws {
        try await AppleCaller.with { sandbox, caller in
            sandbox.faults.set(.status(503, retryAfter: "7").times(1), for: .appleToken)
            sandbox.faults.set(.html().times(1), for: .appleToken)
            sandbox.faults.set(.empty().times(1), for: .appleToken)
            sandbox.faults.set(.malformed.times(1), for: .appleToken)
            sandbox.faults.set(.appleError("invalid_client").times(1, after: 1), for: .appleToken)
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            let busy = try await caller.exchange(code)
            #expect(busy.status == 503)
            #expect(busy.header("Retry-After") == "7")
            #expect(try await caller.exchange(code).text.hasPrefix("<html>"))
            let empty = try await caller.exchange(code)
            #expect(empty.status == 200 && empty.body.isEmpty)
            #expect(try await caller.exchange(code).object.isEmpty)
            #expect(try await caller.exchange("spared")["error"] == "invalid_grant")
            #expect(try await caller.exchange(code)["error"] == "invalid_client")
            #expect(try await caller.exchange(code).status == 200)
            #expect(
                sandbox.journal.entries(.appleToken).map(\.faulted) == [true, true, true, true, false, true, false]
            )
        }
    }

    @Test func aDropBeforeTheEffectLeavesTheCodeAndOneAfterItBurnsIt() async throws {
        try await AppleCaller.with { sandbox, caller in
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            sandbox.faults.set(.drop().times(1), for: .appleToken)
            await #expect(throws: (any Error).self) { try await caller.exchange(code) }
            sandbox.faults.set(.drop(.before).times(1), for: .appleToken)
            await #expect(throws: (any Error).self) { try await caller.exchange(code) }
            #expect(try await caller.exchange(code)["error_description"] == "The code has already been used.")
            #expect(sandbox.journal.entries(.appleToken).map(\.status) == [nil, nil, 400])
        }
    }

    @Test func aTruncatedAnswerBreaksOffAfterTheEffect() async throws {
        try await AppleCaller.with { sandbox, caller in
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            sandbox.faults.set(.truncated.times(1), for: .appleToken)
            await #expect(throws: (any Error).self) { try await caller.exchange(code) }
            #expect(try await caller.exchange(code)["error"] == "invalid_grant")
        }
    }

    @Test func aPretendedRevokeEndsNothing() async throws {
        try await AppleCaller.with { sandbox, caller in
            let token = try await caller.refreshToken()
            sandbox.faults.set(.pretendedSuccess.times(1), for: .appleRevoke)
            #expect(try await caller.revoke(token).status == 200)
            #expect(try await caller.refresh(token).status == 200)
        }
    }

    @Test func aGateHoldsARequestAfterItsEffect() async throws {
        try await AppleCaller.with { sandbox, caller in
            let signIn = try sandbox.apple.signIn(clientID: caller.clientID)
            let token = try #require(try await caller.exchange(signIn.authorizationCode)["refresh_token"])
            let gate = FaultGate()
            sandbox.faults.set(.hold(at: gate), for: .appleRevoke)
            try await withThrowingTaskGroup(of: Int.self) { group async throws in
                group.addTask { try await caller.revoke(token).status }
                await gate.reached()
                guard case .ended = sandbox.apple.consent(sub: signIn.sub, clientID: caller.clientID) else {
                    Issue.record("the consent should have ended while the answer was held")
                    return
                }
                #expect(sandbox.journal.count(.appleRevoke) == 0)
                gate.open()
                #expect(try await group.next() == 200)
            }
        }
    }

    @Test func aHeldRequestDoesNotKeepTheSandboxOpen() async throws {
        let gate = FaultGate()
        try await Sandbox.with { sandbox async throws in
            sandbox.faults.set(.hold(at: gate), for: .appleKeys)
            let url = sandbox.baseURL + "/auth/keys"
            // Still held when the sandbox ends; that it ends is the test.
            Task { try await Answer.to(.get, url) }
            await gate.reached()
        }
        #expect(gate.arrivals == 1)
    }

    @Test func aDelayComesBeforeOrAfterTheEffect() async throws {
        try await AppleCaller.with { sandbox, caller in
            sandbox.faults.set(.delay(.milliseconds(300)).times(1), for: .appleKeys)
            let clock = ContinuousClock()
            let elapsed = try await clock.measure { _ = try await Answer.to(.get, sandbox.baseURL + "/auth/keys") }
            #expect(elapsed >= .milliseconds(300))
            #expect(try await caller.exchange("bogus")["error"] == "invalid_grant")
        }
    }

    @Test func aFaultMayMeetOneClientOnly() async throws {
        try await Sandbox.with { sandbox async throws in
            let app = AppleCaller(sandbox: sandbox)
            let web = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            sandbox.faults.set(.appleError("invalid_client").only(for: web.clientID))
            #expect(try await app.exchange("bogus")["error"] == "invalid_grant")
            #expect(try await web.exchange("bogus")["error"] == "invalid_client")
            #expect(try await web.revoke("bogus")["error"] == "invalid_client")
            sandbox.faults.clearAll()
            #expect(try await web.exchange("bogus")["error"] == "invalid_grant")
        }
    }

    @Test func throttlingBeginsBeyondTheAllowance() async throws {
        try await AppleCaller.with { sandbox, caller in
            sandbox.faults.set(.throttle(2, per: .seconds(60), retryAfter: 5), for: .appleRevoke)
            let statuses = [
                try await caller.revoke("a").status, try await caller.revoke("b").status,
                try await caller.revoke("c").status,
            ]
            #expect(statuses == [200, 200, 429])
            sandbox.clock.advance(by: .seconds(61))
            let ahead = try caller.secret(claims: ["exp": Date().timeIntervalSince1970 + 600])
            #expect(try await caller.revoke("d", ["client_secret": ahead]).status == 200)
        }
    }

    @Test func keysThatAreDownOrEmpty() async throws {
        try await Sandbox.with { sandbox async throws in
            sandbox.faults.set(.emptySuccess.times(1), for: .appleKeys)
            #expect(try await Answer.to(.get, sandbox.baseURL + "/auth/keys").text == #"{"keys":[]}"#)
            sandbox.faults.set(.drop().times(1), for: .appleKeys)
            await #expect(throws: (any Error).self) { try await Answer.to(.get, sandbox.baseURL + "/auth/keys") }
            #expect(try await Answer.to(.get, sandbox.baseURL + "/auth/keys").status == 200)
        }
    }
}
