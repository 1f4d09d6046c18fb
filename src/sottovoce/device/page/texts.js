// All texts of the page, for translation.

const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;
const grouped = (number) => number.toLocaleString("en", { maximumFractionDigits: 2 });
const HAIR = 1e-9; // what misses a round number by this much is meant to be it

/** What a participant is promised, in the words of the installed client. Figures are rounded such that it stays true. */
function promised({ epsilon, delta, distance, unit, readings }) {
  if (epsilon === Infinity) return "This campaign promises nothing: its noise hides next to nothing of your readings.";
  const factor = Math.exp(Math.min(epsilon, 700));
  const learns = delta > 0.01 || factor > 25 ? "may learn a lot" : factor <= 3 ? "learns almost nothing" : "learns little";
  const what =
    unit === "reading" ? `any one reading: had it been up to ${distance} different`
    : readings === 1 ? `your reading: had it been up to ${distance} different`
    : `your readings, even all ${grouped(readings)} together: had each been up to ${distance} different`;
  const power = 2 - Math.floor(Math.log10(factor));
  const digits = Math.ceil(factor * 10 ** power * (1 - HAIR)); // three
  const most = power < 0 ? digits * 10 ** -power : digits / 10 ** power;
  const odds = delta < 0.1 ? `1 in ${grouped(Math.min(Math.floor((1 + HAIR) / delta), 1e9))}` : `${Math.ceil(100 * delta * (1 - HAIR))} %`;
  const likely =
    factor > 1e6 ? "a conclusion could be more than a million times as likely"
    : `no conclusion would be more than ${grouped(most)} times as likely${delta ? `, except with a chance of at most ${odds}` : ""}`;
  return `Whoever sees everything that your device sends ${learns} about ${what}, ${likely}.`;
}

export const texts = {
  name: "Sottovoce",
  nav: { campaigns: "Campaigns", ledger: "Ledger", limits: "Limits", how: "How it works" },
  skip: "Skip to content",
  waiting: (count) => `${many(count, "report")} waiting`,
  offline: "You are offline. Your reports are stored, and sent later.",
  newVersion: "A new version of this page is ready.",
  useNewVersion: "Use it now",
  loading: "Loading your invitation…",
  insecure: [
    "This page cannot protect you here",
    "It came over an unencrypted connection. Over such a connection, browsers cannot check what the link promises, so you cannot join or send.",
    "Open the link with https:// in front, or tell the person who invited you that the server needs a certificate.",
  ],

  invitation: "Invitation",
  campaign: "Campaign",
  askedBy: (who) => `asked by ${who}`,
  until: (when) => ` · open until ${when}`,
  asked: (count) => `What to measure: ${many(count, "task")}`,
  atMost: (count) => `You may answer at most ${count} of them.`,
  range: (low, high) => `${low} to ${high}`,
  join: "Join this campaign",
  joinNote: "Opening this page did not use your invitation. Joining does.",
  notConfirmed: "You have joined. The server has not confirmed it yet, but you can already measure.",

  card: {
    title: "What leaves this device",
    say: (reading, low, high) => `Suppose you measure ${reading}. Random noise is added before anything is sent: nine times out of ten, the value that is sent lies between ${low} and ${high}, otherwise even further away.`,
    picture: (reading, low, high) => `A curve with its peak at the reading, ${reading}. Nine in ten of the values that may be sent lie between ${low} and ${high}.`,
    real: "your reading",
    promised,
    seen: "They do see that you take part, when, and which tasks you answered.",
    ok: "Within your limits",
    details: "The figures",
    rows: { epsilon: "ε", delta: "δ", distance: "Distance", unit: "Promise for", noise: "Noise law", limit: "Your limits", hash: "Campaign hash" },
    units: { reading: "each reading", participant: "all readings together" },
    limits: (epsilon, delta) => `ε up to ${epsilon}, δ up to ${delta}`,
  },

  form: {
    title: "Your readings",
    hint: (low, high, grid) => `${low} to ${high}, counted in steps of ${grid}`,
    send: "Add noise and send",
    once: "All readings are sent at once. Readings that you leave out now cannot be added later.",
    optional: "Leave a field empty if you did not measure that task.",
    left: (count) => ` You may still give ${many(count, "reading")}.`,
    errors: (count) => `${many(count, "answer needs", "answers need")} another look.`,
    none: "Enter at least one reading.",
    notNumber: (typed) => `“${typed}” is not a number. Write digits, such as 12.5.`,
    comma: (typed) => `“${typed}” is ambiguous. Write it without a comma.`,
    outside: (typed, low, high, end) => `${typed} is outside the range ${low} to ${high}. Check it; if it is correct, enter ${end}.`,
  },
  pairs: { title: "Done. This is what is sent", measured: "You measured", stays: "stays here, not stored", sent: "Sent" },
  releases: "Your reports",
  states: { queued: "Waiting", delivered: "Delivered", refused: "Refused", withdrawn: "Withdrawn" },
  queued: "It is sent automatically when the server can be reached and this page is open. Every attempt sends exactly the same.",
  tryNow: "Try now",
  sentValues: (count) => `What was sent: ${many(count, "value")}`,
  results: "What the crowd found",
  withdraw: {
    open: "Withdraw…",
    title: "Withdraw from this campaign?",
    body: "Nothing more is sent, and the server is asked to erase your values. What it has learnt stays in your ledger. You cannot join again.",
    yes: "Withdraw",
    no: "Keep taking part",
    told: "The server has erased your values.",
    untold: "The server has not confirmed this yet. This page keeps asking it.",
  },

  campaigns: { title: "Your campaigns", none: "No campaign yet. Open an invitation link, or scan its code." },
  ledger: {
    title: "Ledger",
    intro: "Everything that ever left this browser, with its cost.",
    none: "Nothing has left this browser yet.",
    spent: (spent, limit) => `ε ${spent} of ${limit} spent`,
    scope: "Only campaigns of this server in this browser are counted. The installed client counts across servers.",
    cost: (epsilon, delta) => `Cost: ε ${epsilon}, δ ${delta}`,
  },
  limits: {
    title: "Your limits",
    intro: "This page refuses a campaign that protects you less than this.",
    fields: {
      epsilon: ["ε of a campaign", "With 3, no conclusion about you would be more than 20.1 times as likely."],
      delta: ["δ of a campaign", "The largest probability that this fails."],
      distance: ["Distance, as a share of the range", "A promise must protect at least this distance."],
      total_epsilon: ["ε of all campaigns", "Campaigns add up."],
      total_delta: ["δ of all campaigns", "So do their probabilities of failure."],
    },
    save: "Save",
    usual: "Restore the defaults",
    saved: "Saved.",
    wrong: (typed) => `“${typed}” cannot be a limit. ε must be above 0, δ at least 0 and below 1, the distance above 0 and at most 1.`,
  },
  how: {
    title: "How it works",
    parts: [
      ["Your reading stays here", "It is clipped to the campaign’s range and rounded to its grid, and random noise is added. Only the sum is stored and sent."],
      ["Noise is drawn once", "Many noisy copies of one reading would reveal it. So the noisy value is stored before it is sent, every retry sends the same value, and no task is answered twice."],
      ["The crowd is heard", "Noise hides a single reading, but averages out over many."],
      ["The link fixes the terms", "It contains a fingerprint of the campaign’s terms. If the server offers different terms, this page refuses."],
      ["What this page cannot do", "It comes from the campaign’s server. A hostile server could send you an altered page that reveals your readings. If you do not trust the server that far, use the installed client, sottovoce, which no server can alter. Neither of them can hide that you take part."],
    ],
  },

  whatNow: "What to do: ",
  retry: "Try again",
  reasons: {
    weaker_than_limits: ({ limit, found, most, task, isNothing }) => (isNothing ? "It promises nothing: its noise hides almost nothing of your readings." : task ? `For “${task}” it protects only differences of up to ${found}; you ask for ${most}.` : `Its ${limit} is ${found}; your limit is ${most}.`),
    budget_spent: ({ limit, found, spent, most }) => `It would cost ${limit} ${found}; ${spent} of ${most} is already spent.`,
  },
  // by code: what happened, what to do
  problems: {
    weaker_than_limits: ["This campaign protects you too little", "Do not take part, or change your limits."],
    budget_spent: ["Your limit over all campaigns is reached", "Do not take part, or change your limits."],
    promise_in_doubt: ["This noise cannot keep the promise", "Do not take part, and tell the person who gave you the link. Nothing is sent."],
    manifest_mismatch: ["The server’s terms do not match your link", "Do not take part, and tell the person who gave you the link."],
    manifest_changed: ["The campaign changed after you agreed to it", "Nothing is sent to it."],
    stale_manifest: ["The campaign has changed", "Ask for a new link."],
    link_without_hash: ["The link is incomplete", "Without its last part, #sha256=…, the server could offer you anything. Ask for the complete link."],
    bad_link: ["This is not an invitation link", "Use the complete link."],
    invitation_unknown: ["The server does not know this invitation", "Check the link, or ask for a new one."],
    invitation_spent: ["This invitation has been used", "Open it where you joined, or ask for a new one."],
    invitation_revoked: ["This invitation was revoked", "Ask for a new one."],
    campaign_not_open: ["The campaign is not open", "Ask the person who invited you."],
    deadline_passed: ["The campaign is over", "Nothing more can be sent."],
    quota_reached: ["The campaign has enough answers", "Nothing was stored."],
    already_released: ["You have already answered this", "A second noisy copy would reveal your reading."],
    too_many_readings: ["More readings than the campaign accepts", "Clear some of the fields."],
    withdrawn: ["You have withdrawn", "Nothing more is sent."],
    unreachable: ["The server cannot be reached", "Try again later; nothing is lost."],
    no_storage: ["This browser does not store data for this page", "Leave private browsing, or free some space."],
  },
  otherProblem: (code) => [`This did not work (${code})`, "Try again later, or tell the operator of the campaign."],
};
