// Every word that the page says, for translation.

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
  offline: "You are offline. What you do is kept, and sent later.",
  newVersion: "A new version of this page is ready.",
  useNewVersion: "Use it now",
  loading: "Looking at your invitation…",
  insecure: [
    "This page cannot protect you here",
    "It came over a connection that is not encrypted. Browsers then refuse to check what the link promises, so you cannot join or send.",
    "Open the link with https:// in front, or tell whoever invited you: the server needs a certificate.",
  ],

  invitation: "Invitation",
  campaign: "Campaign",
  askedBy: (who) => `asked by ${who}`,
  until: (when) => ` · open until ${when}`,
  asked: (count) => `What is asked: ${many(count, "measurement")}`,
  atMost: (count) => `You may answer ${count} of them at most.`,
  range: (low, high) => `${low} to ${high}`,
  join: "Join this campaign",
  joinNote: "Opening this page has cost nothing. Joining uses your invitation up.",
  notConfirmed: "You have joined; the server has not confirmed it yet. You can measure already.",

  card: {
    title: "What leaves this device",
    say: (reading, low, high) => `Say you measure ${reading}. Random noise is added before anything is sent: nine times out of ten, what is sent lies between ${low} and ${high}, otherwise even further off.`,
    picture: (reading, low, high) => `A hill, its top at the reading, ${reading}. Nine in ten of the values that may be sent lie from ${low} to ${high}.`,
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
    once: "All readings go at once. What you leave empty now cannot be added later.",
    optional: "Leave empty what you did not measure.",
    left: (count) => ` You may still give ${many(count, "reading")}.`,
    errors: (count) => `${many(count, "answer needs", "answers need")} another look.`,
    none: "Enter at least one reading.",
    notNumber: (typed) => `“${typed}” is not a number. Write digits, such as 12.5.`,
    comma: (typed) => `“${typed}” can be read in two ways. Write it without a comma.`,
    outside: (typed, low, high, end) => `${typed} lies outside ${low} to ${high}. Check it; if it is right, enter ${end}.`,
  },
  pairs: { title: "Done. This is what is sent", measured: "You measured", stays: "stays here, now forgotten", sent: "Sent" },
  releases: "Your reports",
  states: { queued: "Waiting", delivered: "Delivered", refused: "Refused", withdrawn: "Withdrawn" },
  queued: "It is sent by itself once the server can be reached and this page is open: exactly this, however often it takes.",
  tryNow: "Try now",
  sentValues: (count) => `What was sent: ${many(count, "value")}`,
  results: "What the crowd found",
  withdraw: {
    open: "Withdraw…",
    title: "Withdraw from this campaign?",
    body: "Nothing more is sent, and the server is asked to erase your values. What it learnt stays in your ledger. You cannot join again.",
    yes: "Withdraw",
    no: "Stay",
    told: "The server has erased your values.",
    untold: "The server has not been told yet. It will be.",
  },

  campaigns: { title: "Your campaigns", none: "No campaign yet. Open an invitation link, or scan its code." },
  ledger: {
    title: "Ledger",
    intro: "All that ever left this browser, with its cost.",
    none: "Nothing has left this browser yet.",
    spent: (spent, limit) => `ε ${spent} of ${limit} spent`,
    scope: "Counted are the campaigns of this server, in this browser. The installed client counts across servers.",
    cost: (epsilon, delta) => `Cost: ε ${epsilon}, δ ${delta}`,
  },
  limits: {
    title: "Your limits",
    intro: "A campaign that protects you less than this is refused.",
    fields: {
      epsilon: ["ε of a campaign", "With 3, no conclusion is more than 20.1 times as likely."],
      delta: ["δ of a campaign", "The chance that the noise is too unlucky for that."],
      distance: ["Distance, as a share of a range", "Closer values need not be hidden."],
      total_epsilon: ["ε of all campaigns", "Campaigns add up."],
      total_delta: ["δ of all campaigns", "So do their exceptions."],
    },
    save: "Save",
    usual: "Back to the usual ones",
    saved: "Saved.",
    wrong: (typed) => `“${typed}” cannot be a limit. δ lies below 1, the distance is at most 1.`,
  },
  how: {
    title: "How it works",
    parts: [
      ["Your reading stays here", "It is clipped to the campaign’s range, rounded to its grid, and random noise is added. Only that sum is kept and sent."],
      ["Noise is drawn once", "Many noisy copies of one reading would give it away. So what is sent is written down first, every retry sends the same, and no question is answered twice."],
      ["The crowd is heard", "Noise hides one voice, but over many it averages out."],
      ["The link says what is meant", "It carries a fingerprint of the campaign’s terms. If the server offers others, this page refuses."],
      ["What this page cannot do", "It comes from the campaign’s server. A hostile server could send you an altered page that passes your readings on. If you do not trust it that far, use the installed client, sottovoce: no server can alter that one. Neither can hide that you take part."],
    ],
  },

  whatNow: "What to do: ",
  retry: "Try again",
  reasons: {
    weaker_than_limits: ({ limit, found, most, task, isNothing }) => (isNothing ? "It promises nothing: its noise hides next to nothing of your readings." : task ? `On “${task}” it only hides differences of up to ${found}; you ask for ${most}.` : `Its ${limit} is ${found}; your limit is ${most}.`),
    budget_spent: ({ limit, found, spent, most }) => `It would cost ${limit} ${found}; ${spent} of ${most} is spent already.`,
  },
  // by code: what happened, what to do
  problems: {
    weaker_than_limits: ["This campaign protects you too little", "Do not take part, or change your limits."],
    budget_spent: ["Your limit over all campaigns is reached", "Do not take part, or change your limits."],
    promise_in_doubt: ["The promise cannot be true of this noise", "Do not take part; tell whoever gave you the link. Nothing is sent."],
    manifest_mismatch: ["The server offers something else than your link says", "Tell whoever gave you the link."],
    manifest_changed: ["The campaign changed after you agreed", "Nothing is sent to it."],
    stale_manifest: ["The campaign has changed", "Ask for a new link."],
    link_without_hash: ["The link is not whole", "Without its end, #sha256=…, the server could offer you anything. Ask for it."],
    bad_link: ["This is not an invitation link", "Use the whole link."],
    invitation_unknown: ["The server does not know this invitation", "Check the link, or ask for a new one."],
    invitation_spent: ["This invitation has been used", "Open it where you joined, or ask for a new one."],
    invitation_revoked: ["This invitation was taken back", "Ask for a new one."],
    campaign_not_open: ["The campaign is not open", "Ask who runs it."],
    deadline_passed: ["The campaign is over", "Nothing more can be sent."],
    quota_reached: ["The campaign has answers enough", "Nothing was stored."],
    already_released: ["This was answered before", "A second noisy copy would give your reading away."],
    too_many_readings: ["More readings than the campaign takes", "Empty some."],
    withdrawn: ["You have withdrawn", "Nothing more is sent."],
    unreachable: ["The server cannot be reached", "Try again later; nothing is lost."],
    no_storage: ["This browser keeps nothing for this page", "Leave private browsing, or make room."],
  },
  otherProblem: (code) => [`This did not work (${code})`, "Try again later, or tell whoever runs the campaign."],
};
