/** The preview of the participant's page: which part of it is shown. Without this script it shows the first one. */
const frame = document.querySelector(".phone iframe");
const tabs = document.querySelector(".phone .tabs");
tabs.hidden = false;
for (const tab of tabs.children) {
  tab.addEventListener("click", (event) => {
    event.preventDefault();
    frame.contentWindow.location.hash = tab.dataset.view;
    for (const other of tabs.children) other.ariaCurrent = other === tab ? "true" : null;
  });
}
